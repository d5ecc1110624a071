"""What a run's nodes, GPUs and ranks did over time: read from gauges/, thinned out for drawing, summed up."""
