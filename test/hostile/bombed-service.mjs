// A service in a process of its own, for bombs. It is given its folder and perhaps a budget, says
// where it answers, and tells about itself when it is asked. Needs `dist`.
import { startService } from '../../dist/service/index.js';

const [, , dataDirectory, budget = '{"callMillisMax":1500}'] = process.argv;
const service = await startService({
  listen: { host: '127.0.0.1', port: 0 },
  logLevel: 'silent',
  budget: JSON.parse(budget),
  dataDirectory,
});
process.on('message', () => {
  const environment = JSON.stringify(Object.entries(process.env).sort());
  const builtIns = Reflect.ownKeys(globalThis).map(String).sort().join();
  process.send({ environment, builtIns, folder: process.cwd(), rss: process.memoryUsage.rss() });
});
process.send({ url: service.url });
