"""Results to things people look at: tables, figures and their provenance."""
