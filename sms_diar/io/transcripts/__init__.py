"""File formats of transcripts; `files` reads and writes them, `registry` lists them."""
