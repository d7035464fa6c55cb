import type { CronDefinition } from '../schema/definition.ts';
import type { CronFault, CronReader } from './cron.ts';

/**
 * What is wrong with the expressions of a program's crons, one line each; empty if nothing is. A
 * program that served before keeps its crons all the same: another version of the platform may not
 * know their time zone, which is no reason to keep a database closed.
 */
export function cronFaults(
  crons: readonly CronDefinition[],
  reader: CronReader | undefined,
): readonly string[] {
  return crons.flatMap((cron) => {
    const read = reader?.read(cron.expression, cron.timeZone) ?? noReader;
    return 'message' in read ? [faultText(cron, read)] : [];
  });
}

function faultText({ sourceName, expression }: CronDefinition, fault: CronFault): string {
  const { message, character } = fault;
  const place = character === undefined ? '' : ` (character ${character} of \`${expression}\`)`;
  return `cron \`${sourceName}\`: ${message}${place}`.replace(/\s/g, ' ');
}

/** Why no expression can be read where nothing reads them. */
export const noReader: CronFault = { message: 'no cron can be read here', character: undefined };

/** The lines of a text that are about crons, with the names of their exports. */
export function cronFaultsIn(text: string): readonly { name: string; text: string }[] {
  return text.split('\n').flatMap((line) => {
    const [, name] = /^cron `([^`]+)`: /.exec(line) ?? [];
    return name === undefined ? [] : [{ name, text: line }];
  });
}
