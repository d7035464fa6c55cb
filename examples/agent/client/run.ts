// `node client/run.ts [url] [-- command of the bridge]`: runs the scripted agent against a service,
// as whoever `reducerdb` is logged in as.
import { runAgent } from './agent.ts';

const [url = 'http://127.0.0.1:3000', ...bridge] = process.argv
  .slice(2)
  .filter((word) => word !== '--');
const [command = 'npx', ...args] = bridge.length > 0 ? bridge : ['npx', 'reducerdb'];

await runAgent({
  bridge: { command, args: [...args, 'mcp', '--server', url, '--features', 'preview'] },
  uri: url.replace(/^http/, 'ws'),
  say: (line) => console.log(line),
});
