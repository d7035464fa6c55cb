/**
 * Loaded into the process of a service before its own code: measures how late the event loop of its
 * main thread, the gateway, comes to its work. See `gateway-delay.ts`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.send !== undefined) {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  process.on('message', (word) => {
    if (word === 'reset') histogram.reset();
    const millis = (nanos) => nanos / 1e6;
    process.send?.({
      p50Millis: millis(histogram.percentile(50)),
      p99Millis: millis(histogram.percentile(99)),
      p999Millis: millis(histogram.percentile(99.9)),
      maxMillis: millis(histogram.max),
      count: histogram.count,
    });
  });
  process.channel?.unref();
}
