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
  // Lanes that nobody asked for, by the descriptor of another thread.
  lanes: () => {
    for (;;) fileSystem.writeSync(5, Buffer.from([1, 0, 0, 0, 1]));
  },
};
const fileSystem = process.getBuiltinModule("node:fs");
let lastOpening;
const honest = port.post;
port.post = (message, transfer) => {
  if (message.kind === "opened") lastOpening = { ...message.opening, offset: 0 };
  honest(message, transfer);
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

/**
 * What a procedure could do that has taken over its lane; the name of the procedure says what. The
 * lane is then no program any more, but all that its thread is allowed to be.
 */
function takenOverLane(data: string): string {
  return `{
const builtin = process.getBuiltinModule;
const fs = builtin("node:fs");
const { Session, open } = builtin("node:inspector");
const { Worker } = builtin("node:worker_threads");
const { spawnSync } = builtin("node:child_process");
const data = ${JSON.stringify(data)};
const attempts = {
  thread: () => new Worker("0", { eval: true, execArgv: [] }),
  threadWithFlags: () => new Worker("0", { eval: true, execArgv: ["--allow-worker"] }),
  command: () => { const { error } = spawnSync("true"); if (error) throw error; },
  passwords: () => fs.readFileSync("/etc/passwd"),
  ownMemory: () => fs.readFileSync("/proc/self/mem"),
  thread2: () => fs.readFileSync("/proc/thread-self/environ"),
  data: () => fs.readdirSync(data),
  dataWritten: () => fs.writeFileSync(data + "/note", "x"),
  inspected: () => new Session().connect(),
  inspectedMain: () => new Session().connectToMainThread(),
  inspectable: () => open(0),
};
const acts = {
  escape: () => {
    const seen = {};
    for (const [name, attempt] of Object.entries(attempts)) {
      try { attempt(); seen[name] = "ok"; } catch (error) { seen[name] = error.code; }
    }
    // Whoever started this process as a whole would listen for a debugger now.
    process.kill(process.pid, "SIGUSR1");
    return JSON.stringify(seen);
  },
  stay: () => builtin("node:crypto").pbkdf2Sync("a", "b", 2147483647, 64, "sha512"),
  // The signal may take a moment, and nothing may be answered meanwhile.
  crash: () => { process.kill(process.pid, "SIGABRT"); for (;;); },
};
if (runner !== undefined) {
  const honest = runner.start.bind(runner);
  runner.start = (call) => {
    const act = acts[call.name];
    return act === undefined ? honest(call) : { kind: "failed", message: String(act()), trace: [] };
  };
}
}`;
}

/** Starts a service from a copy of `dist` whose processes of databases can be taken over. */
export async function startTakenOver(
  { folder, port, url }: Sandbox,
  data: string,
  flags: readonly string[],
): Promise<RunningService> {
  const dist = path.join(folder, 'dist');
  cpSync(path.join(root, 'dist'), dist, { recursive: true });
  for (const name of ['node_modules', 'package.json', 'templates']) {
    symlinkSync(path.join(root, name), path.join(folder, name));
  }
  const more = { 'process-actor': takenOver, lane: takenOverLane(data) };
  for (const [kind, text] of Object.entries(more)) {
    const entry = path.join(dist, `host/${kind}-main.bundle.mjs`);
    writeFileSync(entry, `${readFileSync(entry, 'utf8')}\n${text}`);
  }
  const words = ['--root-dir', path.join(folder, 'root'), 'start', '--data-dir', data, ...flags];
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
