import { setFlagsFromString } from 'node:v8';
import { Worker as Thread } from 'node:worker_threads';
import { linkProgram } from '../../bundle/link.ts';
import { ProgramError } from '../../module/runner.ts';
import { FrameReader } from '../../node/frames.ts';
import { fromHex } from '../../values/hex.ts';
import { encodeLinked } from './linked-file.ts';
import { answerFrame, type LinkerAnswer, programFrameBytesMax } from './linker-frames.ts';
import { programHashInSlices } from './program-hash.ts';

/**
 * Links programs in a process of its own: takes one after another from its input, and returns each
 * one linked, or an error text (`linker-frames.ts`). It never runs what it links. It knows no
 * folder and no database, and can be killed at any moment, with the bundler's process, which is its
 * child and in its group.
 */
const errorCharactersMax = 16 * 1024;
// The engine optimizes a function after it has run a certain amount of its bytecode. With the
// default, a process that links its first program would take a third longer, on code it hardly runs
// again.
if (process.argv[4] !== 'prompt') setFlagsFromString('--interrupt-budget=500000');
const version = fromHex(process.argv[2] ?? '') ?? new Uint8Array(16);
const reader = new FrameReader(programFrameBytesMax);
let work: Promise<void> = warmUp();

process.stdin.on('data', (chunk: Buffer) => {
  reader.push(chunk, (_kind, program) => {
    work = work.then(() => serve(program));
  });
});
// The gateway is gone, or needs nothing more.
process.stdin.on('end', endGroup);
endWith(Number(process.argv[3]));

/** Starts the bundler before a program waits for it. */
async function warmUp(): Promise<void> {
  await linkProgram(Buffer.from('export default 1;'));
}

async function serve(bytes: Uint8Array): Promise<void> {
  try {
    // It is hashed while the bundler has it.
    const linking = linkProgram(bytes);
    const [program, programHash] = await Promise.all([linking, programHashInSlices(bytes)]);
    const origin = { programHash, linkerVersion: version };
    answer({ kind: 'linked', bytes: encodeLinked(program, origin) });
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    answer({ kind: 'refused', message: cut(error.message) });
  }
}

function answer(what: LinkerAnswer): void {
  for (const piece of answerFrame(what)) process.stdout.write(piece);
}

/** A message shows lines of the program, which can be of any length. */
function cut(text: string): string {
  return text.length > errorCharactersMax ? `${text.slice(0, errorCharactersMax)}…` : text;
}

/**
 * While a program is parsed, this thread cannot see the end of its input, so another thread checks
 * whether the gateway is still alive.
 */
function endWith(gateway: number): void {
  const source = `
    setInterval(() => {
      if (process.ppid !== ${gateway}) process.kill(-process.pid, 'SIGKILL');
    }, 500);`;
  const resourceLimits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };
  new Thread(source, { eval: true, resourceLimits, stdin: false }).unref();
}

function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit();
  }
}

// The bundler has ended, or a bug: this process is of no use any more.
work.catch(fail);
process.on('unhandledRejection', fail);

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, endGroup);
}
