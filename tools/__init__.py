"""What keeps the documentation true."""
