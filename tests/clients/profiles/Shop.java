// A program that does a little of everything a Java profile shows.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

public class Shop {
    private static final Object LOCK = new Object();
    private static volatile double sum;
    private static volatile Object kept;

    private static void total(long until) {
        double s = 0;
        while (System.nanoTime() < until)
            for (int i = 0; i < 1000; i++)
                s += Math.sqrt(i);
        sum = s;
    }

    private static void allocate(int n) {
        for (int i = 0; i < n; i++)
            kept = new byte[2048 + i % 100];
    }

    private static void contend() {
        synchronized (LOCK) {
            LockSupport.parkNanos(30_000_000L);
        }
    }

    private static void work() {
        for (int i = 0; i < 6; i++) {
            total(System.nanoTime() + 60_000_000L);
            allocate(20_000);
            contend();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++)
            threads.add(new Thread(Shop::work, "worker-" + i));
        for (Thread t : threads)
            t.start();
        for (Thread t : threads)
            t.join();
        System.gc();
    }
}
