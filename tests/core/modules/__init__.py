"""What module systems say: recorded texts of Lmod 8.6.19 and Environment Modules 5.2.0 (Tcl)."""
