/** Follows a chain of indices through an array: JavaChase [SECONDS [SIZE]], as exam.h has it. */
public class JavaChase {
    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    public static void main(String[] args) {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
        int size = 512 << 20;
        if (args.length > 1) {
            int number = Integer.parseInt(args[1].substring(0, args[1].length() - 1));
            size = number << (args[1].endsWith("K") ? 10 : 20);
        }
        int count = Integer.highestOneBit(size / 4);
        int[] next = new int[count];
        for (int i = 0; i < count; i++) {
            next[i] = (int) ((i * 0x5851f42d4c957f2dL + 0x14057b7ef767814fL) & (count - 1));
        }
        System.out.println("ready");
        long wall = System.nanoTime(), cpu = cpu(), operations = 0;
        int at = 0;
        for (; System.nanoTime() - wall < seconds * 1e9; operations += 100000) {
            at = walk(next, at);
        }
        System.out.printf("cpu_ns %.3f%nwall_ns %.3f%n", (double) (cpu() - cpu) / operations,
                (double) (System.nanoTime() - wall) / operations);
        System.out.println("at " + at);
    }

    static int walk(int[] next, int at) {
        for (int i = 0; i < 100000; i++) {
            at = next[at];
        }
        return at;
    }
}
