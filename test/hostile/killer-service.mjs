// A service in a process of its own, for killers: its folder and its isolation are arguments. Says
// where it answers. Needs `dist`.
import { startService } from '../../dist/service/index.js';

const [, , dataDirectory, isolation] = process.argv;
const service = await startService({
  listen: { host: '127.0.0.1', port: 0 },
  logLevel: 'silent',
  budget: { callMillisMax: 1_500 },
  isolation: { everywhere: isolation },
  dataDirectory,
});
process.send({ url: service.url });
