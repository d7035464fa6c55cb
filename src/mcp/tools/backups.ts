import { setTimeout as wait } from 'node:timers/promises';
import { backupLines } from '../../host/backups/shown-repository.ts';
import type { JsonObject } from '../../values/json.ts';
import { databaseArgument } from '../database-argument.ts';
import { openDatabase } from '../open-database.ts';
import { quoteWideIntegers } from '../structured.ts';
import {
  flagArgument,
  objectSchema,
  optionalStringArgument,
  type ToolAnswer,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

const repositoryProperty = {
  repository: {
    type: 'string',
    description: 'Its name; optional if there is only one.',
  },
} as const;

/** Backs up a database, and waits for it. */
export const createBackupTool: ToolSource = {
  name: 'create_backup',
  title: 'Back up',
  description:
    'Back up the database to a repository of the service, and wait for it. For its owner and ' +
    'admins. Only people restore.',
  properties: {
    ...repositoryProperty,
    history: { type: 'boolean', description: 'To restore earlier states, too.' },
  },
  required: [],
  outputSchema: objectSchema({
    backup: { type: 'string' },
    repository: { type: 'string' },
    position: { type: 'string' },
    bytes: { type: 'integer' },
    new_bytes: { type: 'integer' },
  }),
  takesDatabase: true,
  effect: 'writes',
  run: async (args, context) => {
    const name = databaseArgument(args, context);
    const { host, caller } = context.session;
    openDatabase(name, context);
    const choice = {
      repository: optionalStringArgument(args, 'repository'),
      withHistory: flagArgument(args, 'history'),
      withLogs: false,
      withKeys: false,
    };
    const job = host.backups.control.create(caller, host.registered(name), choice);
    for (;;) {
      const { state, result, error } = host.jobs.find(caller, job);
      if (state === 'done') return createdAnswer(result ?? {});
      if (state !== 'running') throw new ToolFailure(error ?? `The backup was ${state}`);
      await wait(pauseMillis);
    }
  },
};

const pauseMillis = 50;

function createdAnswer(result: Readonly<Record<string, unknown>>): ToolAnswer {
  const { backup, repository, bytes, new_bytes, databases } = result;
  const [first] = databases as readonly { readonly position: string }[];
  const position = first?.position ?? '';
  const structured = { backup, repository, position, bytes, new_bytes };
  const text = `Backup ${String(backup)} in ${String(repository)}, at ${position}.`;
  return { texts: [text], structured: quoteWideIntegers(JSON.stringify(structured)) };
}

/** Lists what a repository holds of a database. */
export const listBackupsTool: ToolSource = {
  name: 'list_backups',
  title: 'List backups',
  description: 'Backups of the database, newest first. `tested`: it was restored to check it.',
  properties: repositoryProperty,
  required: [],
  outputSchema: objectSchema({
    backups: {
      type: 'array',
      items: objectSchema({
        id: { type: 'string' },
        time: { type: 'string' },
        position: { type: 'string' },
        bytes: { type: 'integer' },
        tested: { type: 'boolean' },
      }),
    },
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args: JsonObject, context) => {
    const name = databaseArgument(args, context);
    const { host, caller } = context.session;
    openDatabase(name, context);
    const database = host.registered(name);
    const repository = optionalStringArgument(args, 'repository');
    const listed = await host.backups.control.listOf(caller, database, repository);
    const backups = backupLines(listed);
    const lines = backups.map(({ id, time, position, tested }) => {
      return `${id}  ${time}  ${position}${tested ? '  tested' : ''}`;
    });
    const text = lines.length === 0 ? 'There is no backup of it.' : lines.join('\n');
    return { texts: [text], structured: quoteWideIntegers(JSON.stringify({ backups })) };
  },
};
