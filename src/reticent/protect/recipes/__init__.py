"""Every way to learn with noise, one recipe in each file; ``protect.registry`` lists them."""
