import type { Capability } from '../../../src/auth/capability.ts';
import type { Caller } from '../../../src/database/outcome.ts';
import { ownerRights } from '../../../src/database/rights.ts';
import type { ServedView } from '../../../src/database/views/served-views.ts';
import type { ViewInstances } from '../../../src/database/views/view-instances.ts';
import type { Host } from '../../../src/host/host.ts';
import type { Access } from '../../../src/host/registry/access.ts';
import type { Registry } from '../../../src/host/registry/registry.ts';
import type { DatabaseHandle } from '../../../src/host/supervision/database-handle.ts';
import type { RowBag } from '../../../src/live/row-bag.ts';
import { surveyLog } from '../../../src/log/survey.ts';
import type { ViewCall } from '../../../src/module/runner.ts';
import type { ModuleLog } from '../../../src/node/log-file.ts';
import { MemoryDisk } from '../../../src/node/memory-disk.ts';
import type { IndexId, TableId, ViewId } from '../../../src/schema/ids.ts';
import { RefList } from '../../../src/store/ref-list.ts';
import { noRow, type RowRef, rowRef } from '../../../src/store/row-ref.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Table } from '../../../src/store/table.ts';
import type { Index } from '../../../src/store/table-index.ts';
import type { ConnectionNumber } from '../../../src/values/connection-number.ts';
import {
  asCaller,
  asOwner,
  type CallerIdentity,
  type DatabaseIdentity,
  type OwnerIdentity,
  owns,
} from '../../../src/values/identity-roles.ts';
import type { Intake } from '../../../src/websocket/intake.ts';

// Each line after a mark is a mistake that the compiler must find. Nothing here runs.

declare const caller: CallerIdentity;
declare const owner: OwnerIdentity;
declare const database: DatabaseIdentity;
declare const registry: Registry;
declare const access: Access;
declare const host: Host;
declare const capability: Capability;
declare const connection: ConnectionNumber;
declare const handle: DatabaseHandle;
declare const asked: Caller;
declare const table: TableId;
declare const index: IndexId;
declare const view: ViewId;
declare const store: Store;
declare const views: ViewInstances;
declare const served: ServedView;
declare const items: Table;
declare const byKey: Index;
declare const row: RowRef;
declare const bytes: Uint8Array;
declare const bag: RowBag;
declare const log: ModuleLog;
declare const intake: Intake;

// Identities by role.

registry.putName('chat', owner, database);
// @ts-expect-error: the owner and the database are swapped
registry.putName('chat', database, owner);
// @ts-expect-error: a caller becomes an owner by `asOwner` alone
registry.putName('chat', caller, database);
registry.putName('chat', asOwner(caller), database);
// @ts-expect-error: a bare number has no role
registry.putName('chat', 1n, database);
// @ts-expect-error: the owner comes second
registry.changeOwner(owner, database);
// @ts-expect-error: a role is granted to a caller
registry.roleOf(database, owner);
registry.roleOf(database, asCaller(owner));
// @ts-expect-error: databases are looked up by their own identity
registry.database(owner);
// @ts-expect-error: and owned by owners
registry.ownedBy(database);
// @ts-expect-error: the other way around
owns(owner, caller);
// @ts-expect-error: compared with `owns`
export const isOwner = caller === owner;
// @ts-expect-error: never the same
export const isItself = caller === database;
// @ts-expect-error: a database has no standing in itself
access.standing(database, { identity: database, owner });
// @ts-expect-error: the key of a database has each in its place
access.standing(caller, { identity: owner, owner: database });
// @ts-expect-error: names belong to a database here
host.namesOf(caller);
// @ts-expect-error: the database does not call itself
export const self: Caller = { identity: database, rights: ownerRights, jwtPayload: '' };
// @ts-expect-error: a token is for a database, by a caller
export const swapped: Capability = { ...capability, database: caller, by: database };
// @ts-expect-error: a log is of a database
surveyLog(new MemoryDisk(), owner);

// Connections.

// @ts-expect-error: a connection is not its client
export const client: Caller = { identity: connection, rights: ownerRights, jwtPayload: '' };
// @ts-expect-error: nor the client a connection
handle.connect(asked, caller);
// @ts-expect-error: a bare number is not a connection
handle.disconnect(7n);
handle.disconnect(connection);

// Ids of a catalog.

store.table(table);
// @ts-expect-error: an index is not a table
store.table(index);
// @ts-expect-error: nor a table an index
store.index(table);
// @ts-expect-error: a bare number is neither
store.table(4096);
// @ts-expect-error: a view is not an index
store.index(view);
// @ts-expect-error: not every table is a view
views.has(table, caller);
views.has(view, caller);
// A view's rows are read like a table's.
export const rowsOf: TableId = view;
// @ts-expect-error: programs number their views in another way
export const evaluated: ViewCall = { hookId: served.id, viewName: 'v', sender: caller };

// Refs of rows.

items.nextRow(noRow);
// @ts-expect-error: a bare number is not a row
items.nextRow(0);
// @ts-expect-error: a table is not a row
items.pageOf(table);
// @ts-expect-error: nor a row a table
store.table(row);
// @ts-expect-error: nor an offset in a page a row
items.pageOf(items.offsetOf(row));
// @ts-expect-error: nor the number of a page
items.pageOf(items.heap.pageEnd);
// @ts-expect-error: nor the length of a row
items.isVisible(items.lengthOf(row));
// @ts-expect-error: the row after a row is not the next number
items.pageOf(row + 1);
// @ts-expect-error: an element of a list of refs is minted first
export const unminted = [...items.scan()].map((ref) => items.pageOf(ref));
export const minted = [...items.scan()].map((ref) => items.pageOf(rowRef(ref)));
// @ts-expect-error: a list of refs holds nothing else
new RefList().push(items.rowCount);
new RefList<number>().push(items.rowCount);
const found = items.find(byKey, bytes, 4);
// @ts-expect-error: there may be no such row
items.pageOf(found);
// @ts-expect-error: or the bytes may not be a key
if (found !== -1) items.pageOf(found);
if (found !== -1 && found !== -3) items.pageOf(found);

// Counts of rows, lines and requests, and counts of bytes.

bag.add(1, bytes, 0, 4);
// @ts-expect-error: the copies come first, not after the last byte
bag.add(bytes, 0, 4, 1);
log.tail(10, { bytesMax: 1_024 });
// @ts-expect-error: the bytes are not a second number
log.tail(10, 1_024);
intake.count(bytes, 2);
// @ts-expect-error: the message comes first
intake.count(2, bytes);
// @ts-expect-error: and not as its number of bytes
intake.count(bytes.length, 2);
