import { useClient, useOnline, usePendingCalls } from './database.ts';

/** Says so when the connection is away for more than a moment. What is shown stays, and so do calls. */
export function Banner() {
  const client = useClient();
  const isOnline = useOnline();
  const waiting = usePendingCalls().length;
  if (isOnline) return null;
  return (
    <div className="banner" role="status">
      <span>
        No connection. {waiting > 0 ? `${waiting} waiting to be sent.` : 'Trying again …'}
      </span>
      <button type="button" onClick={() => client.retryNow()}>
        Try now
      </button>
    </div>
  );
}
