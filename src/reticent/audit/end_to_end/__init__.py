"""From two neighbouring files to all that leaves: an audit that starts before any cleaning."""
