// The thread of `delayed-relay.ts`.
import { connect, createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { port, millis } = workerData;
const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ port, host: '127.0.0.1', noDelay: true });
  const cut = () => {
    near.destroy();
    far.destroy();
  };
  for (const socket of [near, far]) socket.on('error', cut).on('close', cut);
  near.on('data', (bytes) => far.write(bytes));
  // Timers of the same length end in the order in which they began.
  far.on('data', (bytes) => setTimeout(() => near.write(bytes), millis));
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
