"""What knows both statements and studies: jobs that a study expects, the audit's rules for them, rebuild and import."""
