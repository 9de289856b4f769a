/** Computes the Mandelbrot set, in floating point: JavaMandelbrot [SECONDS]. */
public class JavaMandelbrot {
    public static void main(String[] args) {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
        System.out.println("ready");
        long began = System.nanoTime(), inside = 0;
        while (System.nanoTime() - began < seconds * 1e9) {
            for (int pixel = 0; pixel < 10000; pixel++) {
                inside += steps(pixel % 100 / 50.0 - 1.5, pixel / 100 / 50.0 - 1.0) == 200 ? 1 : 0;
            }
        }
        System.out.println("inside " + inside);
    }

    static int steps(double x, double y) {
        double a = 0, b = 0;
        int n = 0;
        for (; n < 200 && a * a + b * b < 4; n++) {
            double c = a * a - b * b + x;
            b = 2 * a * b + y;
            a = c;
        }
        return n;
    }
}
