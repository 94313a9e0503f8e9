"""Commands that write, check and draw plans and nets."""
