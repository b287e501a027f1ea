"""How long things take: training steps by kernel, speed probes, run times."""
