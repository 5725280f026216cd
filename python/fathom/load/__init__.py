"""What loads targets: the engine and the twins behind one protocol, several drives as one, this machine or a fleet."""
