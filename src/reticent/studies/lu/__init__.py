"""Lu et al., a differentially private framework with convexified loss functions, as published."""
