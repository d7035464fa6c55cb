import { limits } from '../../limits.ts';
import { object, string } from '../../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from '../api.ts';
import { CliError, type Io } from '../io.ts';
import { openBrowser } from '../open-browser.ts';
import { interactiveSql } from '../sql-prompt.ts';
import type { DevInput } from './dev-input.ts';
import type { DevProject } from './dev-project.ts';
import type { DevScreen } from './dev-screen.ts';
import type { DevServer } from './dev-server.ts';
import { type RunOptions, type SideCommand, testCommand } from './front-end.ts';

export interface DevKeysOptions {
  readonly io: Io;
  readonly screen: DevScreen;
  readonly project: DevProject;
  readonly server: DevServer;
  readonly input: DevInput;
  readonly root: string;
  readonly reset: () => Promise<void>;
  readonly start: (run: RunOptions) => SideCommand;
  readonly quit: () => void;
}

/** What the keys do while `dev` runs; one thing at a time. */
export class DevKeys {
  readonly #options: DevKeysOptions;
  #isBusy = false;

  constructor(options: DevKeysOptions) {
    this.#options = options;
  }

  listen(): void {
    this.#options.input.onKey((key) => this.#press(key));
  }

  #press(key: string): void {
    if (key === 'q') {
      this.#options.quit();
      return;
    }
    const work = this.#workOf(key);
    if (work === undefined || this.#isBusy) return;
    this.#isBusy = true;
    work()
      .catch((error: unknown) => {
        this.#options.screen.fault(error instanceof Error ? error.message : String(error));
      })
      .finally(() => {
        this.#isBusy = false;
      });
  }

  #workOf(key: string): (() => Promise<void>) | undefined {
    switch (key) {
      case 'r':
        return this.#options.reset;
      case 's':
        return () => this.#sql();
      case 'c':
        return () => this.#console();
      case 't':
        return () => this.#tests();
      default:
        return undefined;
    }
  }

  /** Statements until `.exit`; the module's log waits meanwhile. */
  async #sql(): Promise<void> {
    const { io, input, screen, project, server } = this.#options;
    screen.hold();
    try {
      const ask = (question: string) => input.ask(question);
      await interactiveSql(
        io,
        project.database,
        async (statement) => {
          const where = databasePath(project.database, '/sql');
          const api = await server.api();
          const request = { body: statement, answerBytesMax: limits.rowsAnswerBytesMax };
          return api.text('POST', where, request);
        },
        ask,
      );
    } finally {
      screen.release();
      screen.say('watching again');
    }
  }

  async #console(): Promise<void> {
    const { io, screen, server, input } = this.#options;
    const url = `${server.url}${await consolePath(await server.api())}`;
    if (input.isTerminal) {
      screen.say(`opening ${server.url}/console/`);
      if (await openBrowser(url, io.environment)) return;
      screen.warn('no browser could be opened. Open this address within 60 seconds:');
    }
    screen.say(`console: ${url}`);
  }

  async #tests(): Promise<void> {
    const { io, screen, root, start } = this.#options;
    const command = testCommand(root);
    if (command === undefined) {
      screen.warn('there are no tests: package.json has no script named test');
      return;
    }
    screen.say(`tests: ${command.command}`);
    const run = start({ ...command, screen, mark: '[test] ', environment: io.environment });
    const code = await run.ended;
    screen.say(code === 0 ? 'tests: passed' : `tests: failed (exit code ${code ?? 'unknown'})`);
  }
}

const codeShape = object({ path: string });

/** With a code that signs this user in, where the service gives one. */
async function consolePath(api: Api): Promise<string> {
  try {
    const answer = await api.send('POST', '/v1/console/codes');
    if (answer.ok) return readAnswer(await answer.text(), codeShape).path;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
  }
  return '/console/';
}
