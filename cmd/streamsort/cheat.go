package main

import "fmt"

type cheatCommand struct{}

// cheats are ten lines for an incident, from the first look to the last.
const cheats = `streamsort doctor                               what is wrong: states, groups of errors, functions
streamsort consumer --state blocked             which consumers wait for you, and their errors
streamsort why QUEUE                            why it does not move, and what to type
streamsort inspect QUEUE@SEQ                    the message, its attempts and their answers
streamsort redrive QUEUE CONSUMER --reason R    try the message that blocks again
streamsort redrive --consumer C --error E --reason R    the same for a group; --yes does it
streamsort skip QUEUE@SEQ CONSUMER --reason R   give the message up, go on with the next
streamsort pause --consumer C --reason R --yes  stop deliveries to a sink; resume goes on
streamsort configure QUEUE policy=skip          go past a gap whose messages never come
streamsort queue QUEUE --audit                  what operators did, and why
`

func (*cheatCommand) Run(s *session) error {
	_, err := fmt.Fprint(s.out, cheats)
	return err
}
