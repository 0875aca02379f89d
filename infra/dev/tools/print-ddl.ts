// Prints the SQL of all tables and views: `node infra/dev/tools/print-ddl.ts > infra/questdb/schema.sql` (or of the namespace given).
import { schemaText } from '../../../processors/sinks/ddl.ts';

process.stdout.write(`${schemaText(process.argv[2] ?? '')}\n`);
