"""The paper's corpus: NIST SRE 2008."""
