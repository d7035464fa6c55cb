import { Worker as Thread } from 'node:worker_threads';
import { linkProgram } from '../bundle/link.ts';
import { ProgramError } from '../module/runner.ts';
import { fromHex } from '../values/hex.ts';
import { encodeLinked } from './linked-file.ts';
import { FrameReader } from './linker-frames.ts';
import { programHash } from './program-hash.ts';

/**
 * The process that links: takes one program after another from its input, gives each back linked,
 * or says what is wrong with it. It never runs what it links. It knows no folder and no database,
 * and may be ended at any moment, with the bundler's process, which is its child and in its group.
 *
 * What it says: a byte (1 = linked, 0 = refused), the length as u32, and the linked program or the
 * text of the refusal. What it is given: the length as u32, and the program.
 */
const errorCharactersMax = 16 * 1024;
const version = fromHex(process.argv[2] ?? '') ?? new Uint8Array(16);
const reader = new FrameReader(0);
let work: Promise<void> = warmUp();

process.stdin.on('data', (chunk: Buffer) => {
  for (const { bytes } of reader.take(chunk)) work = work.then(() => serve(bytes));
});
// The gateway is gone, or wants no more.
process.stdin.on('end', endGroup);
endWith(Number(process.argv[3]));

/** Starts the bundler while nobody waits for it. */
async function warmUp(): Promise<void> {
  await linkProgram(Buffer.from('export default 1;'));
}

async function serve(bytes: Uint8Array): Promise<void> {
  try {
    const program = await linkProgram(bytes);
    const origin = { programHash: programHash(bytes), linkerVersion: version };
    answer(1, encodeLinked(program, origin));
  } catch (error) {
    if (error instanceof ProgramError) answer(0, Buffer.from(cut(error.message)));
    else throw error;
  }
}

function answer(kind: number, bytes: Uint8Array): void {
  const head = Buffer.alloc(5);
  head.writeUInt8(kind, 0);
  head.writeUInt32LE(bytes.length, 1);
  process.stdout.write(head);
  process.stdout.write(bytes);
}

/** A message shows lines of the program, which may be of any length. */
function cut(text: string): string {
  return text.length > errorCharactersMax ? `${text.slice(0, errorCharactersMax)}…` : text;
}

/**
 * A program that is parsed keeps this thread from seeing the end of its input. So another one looks
 * whether the gateway is still there.
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
