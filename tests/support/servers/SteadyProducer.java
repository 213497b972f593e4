import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Creates a topic whose segments go to the remote tier at once, and writes to it until a file is there.
 *
 * usage: java -cp JARS SteadyProducer BOOTSTRAP TOPIC PARTITIONS KIB_PER_SECOND FILE. Every fourth transaction is aborted.
 * It prints "writing" when the topic is there.
 */
public final class SteadyProducer {
    private static final int RECORDS = 20;
    private static final int MOST_BYTES = 8192;

    public static void main(String[] args) throws Exception {
        int partitions = Integer.parseInt(args[2]);
        long bytesPerSecond = 1024L * Integer.parseInt(args[3]);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            NewTopic topic = new NewTopic(args[1], partitions, (short) 1).configs(Map.of(
                "remote.storage.enable", "true", "segment.bytes", "1048576", "local.retention.ms", "1",
                "retention.ms", "-1"));
            admin.createTopics(Set.of(topic)).all().get();
        }
        System.out.println("writing");
        Map<String, Object> options = Map.of("bootstrap.servers", args[0], "transactional.id", "steady",
            "batch.size", "32768", "linger.ms", "5");
        Random random = new Random(7);
        long written = 0;
        long started = System.nanoTime();
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(options, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            for (int number = 0; !Files.exists(Path.of(args[4])); number++) {
                producer.beginTransaction();
                for (int index = 0; index < RECORDS; index++) {
                    byte[] value = new byte[random.nextInt(MOST_BYTES)];
                    random.nextBytes(value);
                    written += value.length;
                    byte[] key = Integer.toString(number).getBytes();
                    producer.send(new ProducerRecord<>(args[1], random.nextInt(partitions), key, value));
                }
                if (number % 4 == 3) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
                long due = started + written * 1_000_000_000L / bytesPerSecond;
                Thread.sleep(Math.max(0, (due - System.nanoTime()) / 1_000_000));
            }
        }
    }
}
