import { Random } from '../../src/testing/random.ts';
import { buildText } from '../support/build-text.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { Gone, post } from './kill-rounds.ts';

export interface PublishKillReport {
  readonly rounds: number;
  /** Publishes that were answered with success. */
  readonly published: number;
  /** Publishes that a kill cut off, by what the next start found. */
  readonly happened: number;
  readonly undone: number;
  /** Answers that named a program and its value. */
  readonly reads: number;
}

const database = 'shop';
const mark = 'version-0000';
const versionOf = (number: number) => `version-${String(number).padStart(4, '0')}`;

/** Program N is published with the value N. */
const source = `
  import { schema, SenderError, t } from 'reducerdb/server';
  const db = schema({}, { env: { VALUE: t.string(), KEY: t.secret() } });
  export default db;
  export const tell = db.reducer((ctx) => { throw new SenderError('${mark} ' + ctx.env.VALUE); });
  export const ask = db.procedure(t.string(), (ctx) => '${mark} ' + ctx.env.KEY);
`;

/**
 * Publishes one version after another, each with values of its own, while others call; kills the
 * service with SIGKILL in the middle, starts it again and looks. Each answer, at any time, has the
 * value of its program. A publish that was answered has happened.
 */
export async function publishKillRounds(
  rounds: number,
  seed: number,
  flags: readonly string[] = [],
): Promise<PublishKillReport> {
  const random = new Random(seed);
  const sandbox = await Sandbox.make();
  const all = ['--log-level', 'error', ...flags];
  const figures = { published: 0, happened: 0, undone: 0, reads: 0 };
  try {
    let service = await sandbox.start(all);
    const publisher = await Publisher.make(service);
    for (let round = 0; round < rounds; round += 1) {
      const where = `seed ${seed}, round ${round}`;
      const load = Promise.all([
        publisher.publishUntilGone(),
        callUntilGone(service, 'tell', where),
        callUntilGone(service, 'ask', where),
      ]);
      // Somewhere within the first publishes, however fast the machine is.
      const millis = random.below(Math.ceil(3 * publisher.millis));
      await new Promise((resolve) => setTimeout(resolve, millis));
      service.child.kill('SIGKILL');
      await service.ended;
      const [, tells, asks] = await load;
      service = await sandbox.start(all);
      const { acknowledged, requested } = publisher;
      const found = await read(service, 'tell', where);
      if (found < acknowledged || found > requested) {
        throw new Error(`${where}: ${found} runs, ${acknowledged} was answered`);
      }
      if ((await read(service, 'ask', where)) !== found) throw new Error(`${where}: two programs`);
      if (requested > acknowledged) figures[found === requested ? 'happened' : 'undone'] += 1;
      publisher.acknowledged = found;
      figures.reads += tells + asks + 2;
    }
    const code = await service.stop();
    if (code !== 0) throw new Error(`the service ended with ${code}:\n${service.output}`);
    return { ...figures, rounds, published: publisher.count };
  } finally {
    sandbox.remove();
  }
}

class Publisher {
  acknowledged = 0;
  requested = 0;
  count = 0;
  /** How long the last publish took. */
  millis = 0;
  readonly #where: string;
  readonly #token: string;
  readonly #program: string;

  private constructor(where: string, token: string, program: string) {
    this.#where = where;
    this.#token = token;
    this.#program = program;
  }

  static async make({ url }: RunningService): Promise<Publisher> {
    const { token } = (await (await fetch(`${url}/v1/identity`, { method: 'POST' })).json()) as {
      token: string;
    };
    const { bytes } = await buildText(source);
    const where = `${url}/v1/database/${database}?host_type=Js`;
    const publisher = new Publisher(where, token, Buffer.from(bytes).toString('latin1'));
    await publisher.#publish();
    return publisher;
  }

  async publishUntilGone(): Promise<void> {
    for (;;) {
      try {
        await this.#publish();
      } catch (error) {
        if (error instanceof Gone) return;
        throw error;
      }
    }
  }

  async #publish(): Promise<void> {
    const number = this.acknowledged + 1;
    const version = versionOf(number);
    const head = { env: { VALUE: version, KEY: { value: version, secret: true } } };
    const program = Buffer.from(this.#program.replaceAll(mark, version), 'latin1');
    const body = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), program]);
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'content-type': 'application/x-reducerdb-publish',
    };
    this.requested = number;
    const begun = performance.now();
    const answer = await fetch(this.#where, { method: 'PUT', headers, body }).catch(() => {
      throw new Gone();
    });
    const text = await answer.text().catch(() => {
      throw new Gone();
    });
    if (!answer.ok) throw new Error(`publishing ${number}: ${answer.status} ${text}`);
    this.acknowledged = number;
    this.count += 1;
    this.millis = performance.now() - begun;
  }
}

async function callUntilGone(
  service: RunningService,
  name: 'tell' | 'ask',
  where: string,
): Promise<number> {
  for (let count = 0; ; count += 1) {
    try {
      await read(service, name, where);
    } catch (error) {
      if (error instanceof Gone) return count;
      throw error;
    }
  }
}

/** The version that answers; its value must be its own. */
async function read({ url }: RunningService, name: string, where: string): Promise<number> {
  const { status, text } = await post(`${url}/v1/database/${database}/call/${name}`, '[]');
  const [, version, value] = /^"?version-(\d+) version-(\d+)"?$/.exec(text) ?? [];
  if (version === undefined) throw new Error(`${where}: ${name}: ${status} ${text}`);
  if (version !== value) throw new Error(`${where}: ${name}: ${version} reads ${value}`);
  return Number(version);
}
