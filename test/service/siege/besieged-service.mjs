// The service under siege, in a process of its own, which can be observed and killed. Needs `dist`.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startService } from '../../../dist/service/index.js';
import { dedicateProcess } from '../../../dist/service/own-process.js';

const [dataDirectory, port, isolation] = process.argv.slice(2);
const mebibyte = 1024 * 1024;

/** The histogram counts the time between two ticks, of which this much is meant to pass. */
const resolution = 10;
const delays = monitorEventLoopDelay({ resolution });

const configuration = {
  listen: { host: '127.0.0.1', port: Number(port) },
  logLevel: 'silent',
  isolation: { everywhere: isolation },
  // Short and small, so that a runaway ends soon and many fit into the time of a siege.
  budget: {
    callMillisMax: 1_500,
    publishMillisMax: 5_000,
    workerHeapMebibytesMax: 128,
    callBufferBytesMax: 256 * mebibyte,
  },
  // What holds where strangers reach it; rates stay off, as all attackers have the same address.
  bounds: { connectionsAtOnce: 8 },
  // So that the well-behaved have another.
  trustedProxies: ['127.0.0.1'],
  dataDirectory,
};
// As `reducerdb start` does.
dedicateProcess(configuration);
const service = await startService(configuration);
delays.enable();

process.on('message', (word) => {
  if (word === 'reset') delays.reset();
  const over = (nanos) => Math.max(0, nanos / 1e6 - resolution);
  process.send({
    rss: process.memoryUsage.rss(),
    delayMillis: { p999: over(delays.percentile(99.9)), max: over(delays.max) },
  });
});
// Whoever started it is gone: nobody else would end it.
process.on('disconnect', () => process.exit(1));
process.send({ url: service.url });
