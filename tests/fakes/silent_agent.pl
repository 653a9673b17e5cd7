# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the hpcboot authors
#
# silent_agent.pl SOCKET LOG KEY.pub: an ssh-agent that lists a key and never
# signs. A line of LOG for each signature it was asked for.
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;
use MIME::Base64;

my ($path, $log, $key) = @ARGV;
open my $file, '<', $key or die "$key: $!";
my $blob = decode_base64((split ' ', <$file>)[1]);
my $keys = pack 'CNN/a*N/a*', 12, 1, $blob, 'me';
my $agent = IO::Socket::UNIX->new(Listen => 9, Local => $path)
    or die "$path: $!";
my $all = IO::Select->new($agent);
while (my @ready = $all->can_read) {
    for my $client (@ready) {
        if ($client == $agent) {
            $all->add($agent->accept);
        } elsif (!sysread $client, my $ask, 65536) {
            $all->remove($client);
        } elsif (ord substr($ask, 4) == 11) {
            syswrite $client, pack('N/a*', $keys);
        } else {
            open my $out, '>>', $log or die "$log: $!";
            print $out "asked\n";
        }
    }
}
