"""Where tasks are done: each engine runs a list of tasks, number k on worker k, and gives the
answers in their order."""
