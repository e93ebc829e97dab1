package sim

// Suite is the scenarios of a package.
type Suite struct {
	Name string
	// Small are walked whole in seconds, Large in minutes.
	Small, Large []Scenario
	// Random is the scenario of a seed.
	Random func(seed uint64) Scenario
}
