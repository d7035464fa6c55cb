import { limits } from '../limits.ts';
import { mayConcern } from './open-database.ts';
import { Notices } from './resources/notices.ts';
import { SnapshotWatch } from './resources/snapshot-watch.ts';
import type { McpSession } from './session.ts';
import { hasReducerTools, type ReducerTools } from './typed-reducers.ts';

/**
 * Tells when the tools of a session are others than they were: another module was published, or the
 * caller may call others of its reducers. Until the returned function is called; `undefined`, when
 * its tools are always the same.
 */
export function watchReducerTools(
  session: McpSession,
  reducerTools: ReducerTools,
  changed: () => void,
): (() => void) | undefined {
  if (!hasReducerTools(session)) return undefined;
  const { host } = session;
  const notices = new Notices(limits.watchNoticeMillis, changed);
  // Nobody knows then what the tools are; a client that lists them is told what is wrong.
  const failed = () => notices.note('tools');
  const watch = new SnapshotWatch({
    uri: 'tools',
    read: async () => JSON.stringify(await reducerTools(session)),
    concerns: (database) => mayConcern(session.database, session, database),
    changed: (what) => notices.note(what),
    failed,
  });
  const forget = [
    host.onDatabaseChange((database) => watch.examine(database)),
    host.grants.onLoss(() => watch.examine()),
  ];
  watch.open().catch(failed);
  return () => {
    for (const end of forget) end();
    watch.close();
    notices.close();
  };
}
