import { bytesText } from '../values/bytes-text.ts';
import { list, nullable, number, object, type Shaped, string } from '../values/json-shape.ts';
import { calledText } from './called-text.ts';
import { countText } from './count-text.ts';
import { CliError, type Io } from './io.ts';

/** A backup that was made, by the service or by this command. */
export const createdBackup = object({
  backup: string,
  repository: string,
  time: number,
  new_objects: number,
  new_bytes: number,
  bytes: number,
  databases: list(
    object({
      identity: string,
      names: list(string),
      position: string,
      fault: nullable(string),
    }),
  ),
});

/** Says what was made; throws if something of a database is missing in it. */
export function printCreated(io: Io, created: Shaped<typeof createdBackup>, json: boolean): void {
  const { backup, repository, bytes, new_bytes, databases } = created;
  const faults = databases.filter(({ fault }) => fault !== null);
  if (json) io.out(JSON.stringify(created));
  else {
    const [first] = databases;
    const isOne = databases.length === 1;
    const what = isOne ? `at ${first?.position}` : countText(databases.length - 1, 'database');
    const news = bytes === new_bytes ? 'all new' : `${bytesText(new_bytes)} of them new`;
    const size = `${bytesText(bytes)}, ${news}`;
    io.out(`Backup ${backup} in ${repository}: ${what}, ${size}.`);
    if (!isOne) for (const one of databases) io.out(`  ${calledText(one)} at ${one.position}`);
  }
  for (const one of faults) io.err(`${calledText(one)} is not all there: ${one.fault}`);
  if (faults.length > 0) {
    const are = faults.length === 1 ? 'is' : 'are';
    throw new CliError(`${countText(faults.length, 'database')} ${are} not all there`, 3);
  }
}
