import { spawn } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { RunningService, root, type Sandbox } from '../service/harness.ts';

/**
 * What a module could do that has taken over its process: once a request names a flood, the process
 * sends well-formed messages without end, as fast as the gateway reads them.
 */
const takenOver = `
const floods = {
  warn: () => ({ kind: "warn", message: "w" }),
  opened: () => ({ kind: "opened", opening: lastOpening }),
};
let lastOpening;
const honest = port.post;
port.post = (message) => {
  if (message.kind === "opened") lastOpening = { ...message.opening, offset: 0 };
  honest(message);
};
channel.on("data", (chunk) => {
  const [, name] = /flood (\\w+)/.exec(chunk.toString("latin1")) ?? [];
  if (name === undefined) return;
  const frame = Buffer.concat(encodeMessage(floods[name]()));
  const many = Buffer.concat(new Array(Math.ceil(65536 / frame.length)).fill(frame));
  const send = () => {
    while (channel.write(many));
    channel.once("drain", send);
  };
  send();
});
`;

/** Starts a service from a copy of `dist` whose processes of databases can be taken over. */
export async function startTakenOver(
  { folder, port, url }: Sandbox,
  flags: readonly string[],
): Promise<RunningService> {
  const dist = path.join(folder, 'dist');
  cpSync(path.join(root, 'dist'), dist, { recursive: true });
  for (const name of ['node_modules', 'package.json', 'templates']) {
    symlinkSync(path.join(root, name), path.join(folder, name));
  }
  const entry = path.join(dist, 'host/process-main.bundle.mjs');
  writeFileSync(entry, `${readFileSync(entry, 'utf8')}\n${takenOver}`);
  const words = ['--root-dir', path.join(folder, 'root'), 'start', ...flags];
  const listening = ['--listen-addr', `127.0.0.1:${port}`, '--log-level', 'warn'];
  const line = [path.join(dist, 'cli/main.js'), ...words, ...listening];
  const env = { ...process.env, NO_COLOR: '1' };
  const service = new RunningService(
    spawn(process.execPath, line, { cwd: folder, env, stdio: 'pipe' }),
    url,
  );
  await service.untilReady();
  return service;
}
