import { useOnline, usePendingCalls } from 'reducerdb/react';

/** Says so when the connection is away for more than a moment. What is shown stays, and calls wait. */
export function Banner() {
  const isOnline = useOnline();
  const waiting = usePendingCalls().length;
  if (isOnline) return null;
  return (
    <p className="banner" role="status">
      No connection. {waiting > 0 ? `${waiting} waiting to be sent.` : 'Trying again …'}
    </p>
  );
}
