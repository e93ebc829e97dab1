package sim

// Must is what nothing keeps from being: options that a scenario has in their bounds, and what is
// done where no [Proc] is, so that nothing goes wrong. Where it is not, the suite is wrong.
func Must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}
