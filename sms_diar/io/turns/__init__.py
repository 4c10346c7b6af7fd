"""Files of speaker turns and regions; `registry` lists the formats."""
