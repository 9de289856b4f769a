// Looks up random keys in a map: go_map [SECONDS [SIZE]], as exam.h has it.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func main() {
	seconds, count := 3.0, uint64(8<<20)
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	if len(os.Args) > 2 {
		count, _ = strconv.ParseUint(strings.TrimRight(os.Args[2], "KM"), 10, 64)
		switch os.Args[2][len(os.Args[2])-1] {
		case 'K':
			count <<= 10
		case 'M':
			count <<= 20
		}
	}
	values := make(map[uint64]uint64, count)
	for i := uint64(0); i < count; i++ {
		values[i] = i * 3
	}
	fmt.Println("ready")
	state, sum, operations := uint64(88172645463325252), uint64(0), 0
	wall, cpu := time.Now(), cpuSeconds()
	for ; time.Since(wall).Seconds() < seconds; operations += 1000 {
		for i := 0; i < 1000; i++ {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			// The next key needs what was found.
			sum += values[(state^sum&1)%(count&^1)]
		}
	}
	each := 1e9 / float64(operations)
	fmt.Printf("cpu_ns %.3f\nwall_ns %.3f\n", (cpuSeconds()-cpu)*each, time.Since(wall).Seconds()*each)
	if sum == 1 {
		fmt.Println(sum)
	}
}
