// `npm run demo:agent`: builds the project, starts a service on a free port with its data in a
// temporary folder, publishes examples/agent, and lets the scripted agent work with it over the
// bridge. `--no-build` takes the build that is there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { root, runNode } from './run.mjs';

if (!process.argv.includes('--no-build')) {
  console.log('building …');
  const built = await runNode('scripts/build.mjs', ['--quiet']);
  if (built !== 0) process.exit(built);
}

const { startService } = await import('../dist/service/index.js');
const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-agent-'));
const cli = [path.join(root, 'dist/cli/main.js'), '--root-dir', path.join(folder, 'user')];
const service = await startService({
  listen: { host: '127.0.0.1', port: 0 },
  dataDirectory: path.join(folder, 'data'),
  logLevel: 'warn',
});
try {
  console.log(`service on ${service.url}, data in ${folder}`);
  await run([...cli, 'publish', 'stock', '--server', service.url, '-p', 'examples/agent']);
  await run([await bundledAgent(), service.url, '--', process.execPath, ...cli]);
} finally {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** The agent as one file: this repository's own library is not installed in it. */
async function bundledAgent() {
  const outfile = path.join(root, 'examples/agent/dist/run.mjs');
  await build({
    entryPoints: [path.join(root, 'examples/agent/client/run.ts')],
    tsconfig: path.join(root, 'examples/agent/client/tsconfig.json'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@modelcontextprotocol/*', 'ws', 'undici'],
    outfile,
  });
  return outfile;
}

async function run([script, ...args]) {
  const code = await runNode(script, args);
  if (code !== 0) throw new Error(`${path.basename(script)} ended with ${code}`);
}
