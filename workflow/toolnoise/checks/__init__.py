"""What an audit knows of studies: the jobs that a study expects, and rules that know what a run is."""
