import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints what Kafka's consumer gets of a topic, up to the ends that its partitions have now.
 *
 * A group reads on at its committed offsets and commits none; without one, reading begins at the start. A line
 * has the partition, the offset, key, value, and names and values of headers in turn, in base64, "-" for null.
 */
public final class ConsumedRecords {
    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("enable.auto.commit", "false");
        properties.put("isolation.level", System.getProperty("isolation", "read_uncommitted"));
        properties.put("auto.offset.reset", args.length > 2 ? "none" : "earliest");
        if (args.length > 2) {
            properties.put("group.id", args[2]);
        }
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            List<TopicPartition> partitions = consumer.partitionsFor(args[1]).stream()
                .map(found -> new TopicPartition(args[1], found.partition())).collect(Collectors.toList());
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                consumer.poll(Duration.ofSeconds(1)).forEach(record -> System.out.println(line(record)));
            }
        }
    }

    private static String line(ConsumerRecord<byte[], byte[]> record) {
        StringBuilder line = new StringBuilder(record.partition() + "\t" + record.offset());
        line.append("\t").append(text(record.key())).append("\t").append(text(record.value()));
        for (Header header : record.headers()) {
            line.append("\t").append(text(header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8)));
            line.append("\t").append(text(header.value()));
        }
        return line.toString();
    }

    private static String text(byte[] content) {
        return content == null ? "-" : Base64.getEncoder().encodeToString(content);
    }
}
