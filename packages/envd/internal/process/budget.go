package process

const (
	// totalKeptBytes is the memory that the kept output of all processes may take.
	totalKeptBytes = 4 * 1024 * 1024
	// budgetStepBytes says how far below the bound it is brought when the bound is reached, so that the next piece
	// finds room.
	budgetStepBytes = 256 * 1024
)

// A budget bounds the kept output of all processes together: the process that keeps most loses its oldest first.
// The caller holds the lock of the service.
type budget struct {
	holders map[*keptOutput]struct{}
	bytes   int64
}

// charge counts bytes that an output keeps in addition, or fewer when negative.
func (b *budget) charge(holder *keptOutput, bytes int64) {
	if b.holders == nil {
		b.holders = map[*keptOutput]struct{}{}
	}
	b.bytes += bytes
	b.holders[holder] = struct{}{}
	if b.bytes > totalKeptBytes && bytes > 0 {
		b.shrink(totalKeptBytes - budgetStepBytes)
	}
}

// forget says that an output is no longer kept.
func (b *budget) forget(holder *keptOutput) {
	if _, known := b.holders[holder]; known {
		delete(b.holders, holder)
		b.bytes -= holder.cost
	}
}

func (b *budget) shrink(goal int64) {
	unread := map[*keptOutput]bool{}
	for b.bytes > goal {
		var largest *keptOutput
		for holder := range b.holders {
			if !unread[holder] && holder.cost > 0 && (largest == nil || holder.cost > largest.cost) {
				largest = holder
			}
		}
		if largest == nil {
			return
		}
		// Its readers still have to get everything that it has.
		if !largest.dropOldest() {
			unread[largest] = true
		}
	}
}
