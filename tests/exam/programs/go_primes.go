// Counts primes by trial division: go_primes [SECONDS].
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	seconds := 3.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	fmt.Println("ready")
	primes, began := 0, time.Now()
	for n := uint32(3); time.Since(began).Seconds() < seconds; n += 2 {
		prime := true
		for d := uint32(3); d*d <= n && prime; d += 2 {
			prime = n%d != 0
		}
		if prime {
			primes++
		}
	}
	fmt.Println("primes", primes)
}
