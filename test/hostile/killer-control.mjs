// A server that only answers: what it makes others wait is the machine's doing, not a service's.
import { createServer } from 'node:http';

const server = createServer((_, answer) => answer.end('ok'));
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());
