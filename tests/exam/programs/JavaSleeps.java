/** Works for 20 ms, then sleeps for 40 ms: JavaSleeps [SECONDS]. */
public class JavaSleeps {
    public static void main(String[] args) throws InterruptedException {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
        System.out.println("ready");
        long wall = System.nanoTime(), operations = 0, x = 1;
        for (; System.nanoTime() - wall < seconds * 1e9; operations++) {
            for (long end = System.nanoTime() + 20_000_000; System.nanoTime() < end;) {
                for (int i = 0; i < 10_000; i++) x = x * 3 + 1;
            }
            Thread.sleep(40);
        }
        System.out.printf("wall_ns %.3f%n", (double) (System.nanoTime() - wall) / operations);
        System.out.println("x " + x);
    }
}
