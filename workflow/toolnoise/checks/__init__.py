"""What knows both statements and studies: the jobs that a study expects, the audit's rules for them, rebuild, import."""
