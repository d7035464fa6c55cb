import { expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { buildText } from '../support/build-text.ts';
import { sourceOf } from '../support/deploy-versions.ts';
import { someSeeds } from '../support/share.ts';
import { type RunningService, Sandbox } from './harness.ts';

/** Kills the service in the middle of deploys: the list and what runs agree at the next start. */

const mark = 'version-0000';
const versionOf = (number: number) => `version-${String(number).padStart(4, '0')}`;
const roundCount = 3;

interface Listed {
  readonly running: number;
  readonly deploys: readonly { readonly deploy: number; readonly message: string }[];
}

class Publisher {
  /** The last version that was answered, and the last that was sent. */
  answered = 0;
  sent = 0;
  millis = 0;
  readonly #service: () => RunningService;
  readonly #headers: Record<string, string>;
  readonly #program: string;

  constructor(service: () => RunningService, token: string, program: string) {
    this.#service = service;
    this.#headers = { authorization: `Bearer ${token}` };
    this.#program = program;
  }

  async publish(): Promise<void> {
    const version = versionOf(this.answered + 1);
    this.sent = this.answered + 1;
    const begun = performance.now();
    const answer = await fetch(`${this.#where('')}?host_type=Js&message=${version}`, {
      method: 'PUT',
      headers: { ...this.#headers, 'content-type': 'text/javascript' },
      body: Buffer.from(this.#program.replaceAll(mark, version), 'latin1'),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${version}: ${answer.status} ${text}`);
    this.answered = this.sent;
    this.millis = performance.now() - begun;
  }

  async publishUntilGone(): Promise<void> {
    for (;;) {
      try {
        await this.publish();
      } catch (error) {
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  }

  /** The version that runs, by its own word. */
  async word(): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    const asked = { method: 'POST', body: '[]', headers };
    const answer = await fetch(this.#where('/call/tell'), asked);
    return (await answer.text()).slice(0, mark.length);
  }

  async list(): Promise<Listed> {
    const answer = await fetch(this.#where('/deploys'), { headers: this.#headers });
    return (await answer.json()) as Listed;
  }

  #where(rest: string): string {
    return `${this.#service().url}/v1/database/shop${rest}`;
  }
}

it.each(someSeeds(1, 4))(
  '[living 5.11] a kill -9 around a deploy, seed %i',
  async (seed) => {
    const random = new Random(seed);
    const sandbox = await Sandbox.make();
    let service = await sandbox.start(['--log-level', 'error']);
    try {
      const made = await fetch(`${service.url}/v1/identity`, { method: 'POST' });
      const { token } = (await made.json()) as { token: string };
      const { bytes } = await buildText(sourceOf({ word: mark }));
      const program = Buffer.from(bytes).toString('latin1');
      const publisher = new Publisher(() => service, token, program);
      await publisher.publish();
      for (let round = 0; round < roundCount; round += 1) {
        const publishing = publisher.publishUntilGone();
        const millis = random.below(Math.ceil(2 * publisher.millis));
        await new Promise((resolve) => setTimeout(resolve, millis));
        service.child.kill('SIGKILL');
        await service.ended;
        await publishing;
        service = await sandbox.start(['--log-level', 'error']);
        const word = await publisher.word();
        const { running, deploys } = await publisher.list();
        const where = `seed ${seed}, round ${round}`;
        expect([where, deploys[0]?.message, running]).toEqual([where, word, deploys[0]?.deploy]);
        const found = Number(word.slice(-4));
        expect([publisher.answered, publisher.sent], where).toContain(found);
        const versions = Array.from({ length: found }, (_, at) => versionOf(found - at));
        expect(
          deploys.map(({ message }) => message),
          where,
        ).toEqual(versions.slice(0, 100));
        publisher.answered = found;
      }
    } finally {
      await service.stop();
      sandbox.remove();
    }
  },
  240_000,
);
